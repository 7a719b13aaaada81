/**
 * A service that answers small messages: in the clear or over HTTPS (a JSP page), as SOAP, and as
 * SOAP whose messages are signed and encrypted (WS-Security, by Apache WSS4J).
 */
package tidegate.messages;
