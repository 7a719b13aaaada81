<%@ tag pageEncoding="UTF-8" body-content="empty" trimDirectiveWhitespaces="true" %>
<%@ attribute name="of" required="true" type="java.util.List" %>
<%@ taglib prefix="c" uri="jakarta.tags.core" %>
<table>
<thead><tr><th>From</th><th class="number">Rating</th><th>Comment</th><th>Written</th></tr></thead>
<tbody>
<c:forEach items="${of}" var="comment">
<tr>
<td><a href="/users/${comment.fromId()}"><c:out value="${comment.from()}"/></a></td>
<td class="number">${comment.rating()}</td>
<td><c:out value="${comment.text()}"/></td>
<td>${comment.written()}</td>
</tr>
</c:forEach>
</tbody>
</table>
